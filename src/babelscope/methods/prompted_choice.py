"""Forced choice by answer: systems are asked in words which of two is better, in both orders."""

from __future__ import annotations
