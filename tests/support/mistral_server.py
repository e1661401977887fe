"""`python mistral_server.py MODEL_FOLDER`: chat completions of OpenAI's protocol by mistralrs; prints its port."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mistralrs import ChatCompletionRequest, Runner, Which  # type: ignore[import-not-found]


def answer(runner: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """What the engine says; at temperature 0 the likeliest token."""
    greedy = not asked.get("temperature")
    found = runner.send_chat_completion_request(
        ChatCompletionRequest(
            messages=asked["messages"],
            model="default",
            n_choices=asked.get("n", 1),
            max_tokens=asked.get("max_tokens"),
            temperature=None if greedy else asked["temperature"],
            top_k=1 if greedy else None,
            top_p=None if greedy else asked.get("top_p"),
            logprobs=bool(asked.get("logprobs")),
        )
    )
    choices = []
    for each in found.choices:
        entries = [
            {"token": one.token, "logprob": one.logprob}
            for one in (each.logprobs and each.logprobs.content) or []
        ]
        choices.append(
            {
                "index": each.index,
                "finish_reason": each.finish_reason,
                "message": {"role": "assistant", "content": each.message.content},
                "logprobs": {"content": entries} if entries else None,
            }
        )
    return {"id": found.id, "object": "chat.completion", "model": found.model, "choices": choices}


class Handler(BaseHTTPRequestHandler):
    runner: Any = None

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps(answer(self.runner, asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    Handler.runner = Runner(which=Which.Plain(model_id=sys.argv[1]), token_source="none")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
