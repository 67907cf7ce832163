"""Laws in exact fractions (joint, of samples, Markov), channels, examples, entropy, and numbers read, written and shown.

Comes in: numbers, rows and rules of a user. Goes out: a law whose masses are exact. Imports: errors, and
how the verifier reads names and documents.
"""
