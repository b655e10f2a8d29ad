"""Tests of pykittens; the folders mirror the package."""
