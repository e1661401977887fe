"""The public parser models: where each is published, and its digest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from babelscope.util.digests import digest_git_blob
from babelscope.util.published import NamedSet, Project, PublishedFile, SetPart

# UDPipe 1 models of Universal Dependencies 2.5 (http://hdl.handle.net/11234/1-3131), at a mirror of them. A full
# commit id, so that the file behind a URL cannot change.
_UDPIPE_AT = (
    "jwijffels/udpipe.models.ud.2.5/17d6bbfb7f138f9ba2cf04692f15d892becf0246/inst/udpipe-ud-2.5-191206"
)
# Treebank, language and SHA-1 as a git blob. Their sizes are not known to us.
_UDPIPE_MODELS = """\
afrikaans-afribooms af 1506e5528eb784b09957dc03f25729e54230a1fc
ancient_greek-perseus grc 8e9dae6ce80ad785a6c0281482486cb13aaa1019
ancient_greek-proiel grc db4dc6fc428b2bc4cd36cc09888a081133b2d2ac
arabic-padt ar afa22ceb00e6da1b7a42aca4bd4f88683254707d
armenian-armtdp hy 05bd7fc61f4ecf37f6f0de0295f7a0e3d00773f5
basque-bdt eu 939ca502efb5543e2dda36e250be43d79143d8fd
belarusian-hse be bf997ccf04407598685cee351d503bfce370da77
bulgarian-btb bg 553af02903c13d65894dcb5af855f93c0f328536
catalan-ancora ca 079cd1f76e7720b804f1a7ad60e0f10324554b06
chinese-gsd zh cd695eaee25e43d639f853deddbb940f80f361a4
chinese-gsdsimp zh bbab025e511e6a9cc1c0492b20510c2c9375f95b
classical_chinese-kyoto lzh f0620caf5e2d2413f18a5d7167be939c4e1529a8
coptic-scriptorium cop 4cef4abf43fb1453c0dc043b5c69e26324cafddb
croatian-set hr cd6838ba637d21e91484446aba6cb8a51e8bab78
czech-cac cs 7b2e4242dfa9d605369fb7ca982a1ad81a5eee4a
czech-cltt cs d2df2ccea23965f788ca7187b0f8371cb790fb7e
czech-fictree cs 768ccc5e2399f54cfdd0861b67b324dba182aa21
czech-pdt cs 3531f609897bbe8c0e0472197b95068f134673fe
danish-ddt da a5afe382a08613265438efcd57fbf08ed488d326
dutch-alpino nl 28113065e616a753ddb4467260b22941f98bf9ee
dutch-lassysmall nl 59398b0b988e3b29a50604052607c80bdf61ffd7
english-ewt en 7f16e14d3695b6f878c6124a707359fdfd041c36
english-gum en da7ffc6ab857dbf8be4ab0d4820e2ac129960425
english-lines en eda732f6ff3f5e16752a4572eec9bf4896041942
english-partut en 316b7402ec6559971b6537d72e47de1e6a8211b8
estonian-edt et ff57e8eaaf0cf4d2a596dbdc42ac6cb959976a5e
estonian-ewt et 463e7d641637e58386049627d31abdeb8a36393c
finnish-ftb fi 66a00761e59dea34f2efbf2065eb772b48221e38
finnish-tdt fi 297e88d9b8e6126d6e1d938e038e8b9fdc59ab29
french-gsd fr ca79311b47617b92a0762ae5f3fa13e3fcfe0972
french-partut fr 23afa27ad9c4297996c781c83b0eee393d33d7e0
french-sequoia fr e5639949161c4216a8e71dfb5830f55f1899e1f7
french-spoken fr 5ac5c4878bd387d9edfc0533ad7c1a2f4bbf847f
galician-ctg gl 0393b9745575af0dd43385a1d953bd2a3ff6a4ba
galician-treegal gl cb9bfa25451f3c48d1a09b14a9dda7540d5d730e
german-gsd de 6890c813915a9bcf7abdab69b16f9d3f5372510a
german-hdt de 2611d6b23b5fa27e2c7d53c8403145c4f800d1aa
gothic-proiel got edef170f0109abd986bfbd311f068cba22baedc3
greek-gdt el 7efe2e84c0065daf5d14bc15b0378680dd7001f8
hebrew-htb he 2b939864e49bfafb3b1f96fbeccba79ce8147a24
hindi-hdtb hi c47773b90fd7992541259035d24a3dc98aa1297a
hungarian-szeged hu badda442553a86f822d90ca5be92e5f5a82bc6f8
indonesian-gsd id 5f07850ebeffb06fe85059f0e1b35542646abf42
irish-idt ga 926e51eab62d6a1b0f1ff6a76392b8a3c37d92ef
italian-isdt it 7e9d23e961fc4a1dde2a1954bc55dc2e84b1a3ae
italian-partut it c2ff6286d06018259c9654172ec688d05048fb8c
italian-postwita it 59bbe4d0abe1e5704d0c93573c88c4157bed5ae3
italian-twittiro it 697cc03eeffde9727aaf6c251278a899523c55b9
italian-vit it 3f993447ecd4a928b116ce5b3234fcf0b9d06a5b
japanese-gsd ja a8c62dfcc090ab9809be8a194dc233e387c9e2d5
korean-gsd ko e2c7e9468f43f68d1c92e7715c6c8ef01ee89e20
korean-kaist ko 2c19539942babb1a23032ef7c700a3338bd666fd
latin-ittb la 30edb334c018401386326f607f443b6568589b5b
latin-perseus la 43d509fd12a508243bc1ee3db84cc9af49076603
latin-proiel la 9fc7042520f5e13f67a74dd66cee37799c2c0d02
latvian-lvtb lv bd5b7b663f43c788e86e6be94627f3279fe3f706
lithuanian-alksnis lt 2030eb419b847de5b6931659727ddd8210ef28f6
lithuanian-hse lt 51546a63ed5695504dedc37b8e5caf85acc888a6
maltese-mudt mt ebbdbe97b06c2c280dd182bd23870bafc325ded5
marathi-ufal mr 53c359052a8741bddeb88ff3c0ca400d0338c2eb
north_sami-giella se 7ce002ef41d2e2a8cd1837578e80fa83049b6d68
norwegian-bokmaal nb 11b1841d43ea8ef718e24d5ca476beb6026f041d
norwegian-nynorsk nn af4d0a52cf046dcf8ecbb25416961471909e50d0
norwegian-nynorsklia nn 7c1fa19ae7da5ddbc4c64a43f49fa9bfb3022902
old_church_slavonic-proiel cu ca7cf8ec8a4e6c827f8969212e72c11079981cbc
old_french-srcmf fro 2c05c77db1513ca6374e9f56727ab1d6cd480d8b
old_russian-torot orv 3ff59e8ca4f71af3ced49fb8dca80d18155bf40e
persian-seraji fa 0e6a04b077b4d26e27fc8c095a3d06bac01233dd
polish-lfg pl 3ec03b2101efabf3ac2677ab39f9025c6c4582b9
polish-pdb pl 76faab4cb879fcd36a71d3207a46885848efbf30
portuguese-bosque pt f67f1bbd7cc0961c07a924c34a6fcee938ed5f94
portuguese-gsd pt 8f80d3ebce6d84360a9e0a576ed92f01e9616564
romanian-nonstandard ro a791a242b5cad3fa2a4c434519bc4cc81a7c9542
romanian-rrt ro 87115bd228f02a01879e79e7aa52f4357d51eea3
russian-gsd ru 9ca63675b0c36d58242f7e228e4c76f202895c5e
russian-syntagrus ru 871fdac3328ae930d052def7037a07ba195372e0
russian-taiga ru fbd48a56d6b1fda9ad4240a441e512e2cf5c0532
scottish_gaelic-arcosg gd 4fbdf9f660ba725b14dbc01e0d35152e70a84c07
serbian-set sr c6850255238deb30688b36e48955bc9cadf6194f
slovak-snk sk 936f47534591b14051dbfdc044760c347437db9d
slovenian-ssj sl dd06db2b380a95e75918806431509b0cb2012340
slovenian-sst sl d03a791ccf4c79b8e8ee080e2ce6ba49dc141e62
spanish-ancora es 1bf7f66742b7b0d6296b1eac8272e7ccf903cbcb
spanish-gsd es 943990636c9285e338bee99923574a5442f6da88
swedish-lines sv f2efc23cd7daabd59e55bd9092b190159fb9b986
swedish-talbanken sv 4569db9e019ca6b01a2ba2e65546cbb7bf04c5c3
tamil-ttb ta ed6a52f3989dfd221f74efd4b9d4729caf06022c
telugu-mtg te b4b5da1e4fcd871274d8da3237323d9299a2d10d
turkish-imst tr de24a0b23533613404d1533f56552dbcc99e8e7e
ukrainian-iu uk fe1ac613e8070b216921fd4257c3f042237c3edf
urdu-udtb ur 880b73f6a5d9540fb5caa42f9d06fd6a187a5164
uyghur-udt ug 1830a49184111d22a50493f1b71dcf7a17318b19
vietnamese-vtb vi 743fcb9a99e9fe21a3132e9080413843f1114d2b
wolof-wtb wo 5c7c79e3c7d1eede019d1e366c9489e0926267b5
"""


def _udpipe_model(treebank: str, language: str, git_blob: str) -> NamedSet:
    project = Project(
        "jwijffels/udpipe.models.ud.2.5",
        (language, ""),
        "CC BY-NC-SA 4.0",
        "Milan Straka and Jana Straková. 2017. Tokenizing, POS Tagging, Lemmatizing and Parsing UD 2.0 with "
        "UDPipe. CoNLL Shared Task. Models: http://hdl.handle.net/11234/1-3131",
    )
    name = f"{treebank}-ud-2.5-191206.udpipe"
    file = PublishedFile(f"udpipe/{name}", f"{_UDPIPE_AT}/{name}", git_blob=git_blob)
    part = SetPart(f"udpipe/{treebank}", "udpipe", file.local, 0, (file,))
    return NamedSet(part.name, f"a parser, used as --parser udpipe:{treebank}", project, (part,))


MODELS: Mapping[str, NamedSet] = {
    made.name: made for made in (_udpipe_model(*line.split()) for line in _UDPIPE_MODELS.splitlines())
}


def find_model(path: Path) -> NamedSet | None:
    """The published model that a file is, whatever it is called; None if it is none of them, or no file."""
    if not path.is_file():
        return None
    with open(path, "rb") as file:
        digest = digest_git_blob(file)
    return next((model for model in MODELS.values() if model.files[0].git_blob == digest), None)
