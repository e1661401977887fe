"""Forced choice by answer: systems are asked in words which of two is better, in both orders."""
