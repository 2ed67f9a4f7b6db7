#!/usr/bin/env python3
"""Asks an exported model about one customer, without Ballast.

usage: load.py churn.onnx
"""
import json
import sys

import numpy
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1])
about = session.get_modelmeta().custom_metadata_map
columns, classes = json.loads(about["columns"]), json.loads(about["classes"])
customer = numpy.zeros((1, len(columns)), "float32")
customer[0, columns.index("calls")] = 3  # deviations above the mean
[chances] = session.run(["probabilities"], {"features": customer})
print(f"columns {', '.join(columns)}")
print(f"who calls often leaves with probability {chances[0, classes.index('yes')]:.2f}")
