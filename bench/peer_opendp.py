"""OpenDP's randomised response. Run by bench/differential_privacy.py in an environment of OpenDP's own.

Reads {"categories": how many, "truth": probability, "values": [category, …]} and writes {"epsilon": …, "answers": […]}.
"""

import json
import sys

import opendp.prelude as dp

dp.enable_features("contrib")
asked = json.load(sys.stdin)
respond = dp.m.make_randomized_response(categories=list(range(asked["categories"])), prob=asked["truth"])
json.dump({"epsilon": respond.map(1), "answers": [respond(value) for value in asked["values"]]}, sys.stdout)
