"""The method `echo`: how much of its source does a system repeat instead of translating it?"""
