"""What the benchmarks share. It finds tools/harness/ even without ./dev."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
