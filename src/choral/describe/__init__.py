"""Laws: joint, compact and Markov laws of columns in exact fractions, channels, examples, and how numbers are read and shown.

Comes in: numbers, rows and rules of a user. Goes out: a law whose masses are exact. Imports: errors alone.
"""
