"""Starts the real program and observes it: what the end-to-end tests and the
benchmarks share. They find it through PYTHONPATH=tools, which ./dev and CMake
set. It imports nothing from either of them.
"""
