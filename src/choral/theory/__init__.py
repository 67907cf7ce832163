"""What the theory says beyond one channel: many samples, sufficient statistics, typical sets, the entropy-rate limit,
self-disclosure of bits over q, two binary samples in closed form, and synergy.

Comes in: laws and numbers of samples. Goes out: curves and intervals, each achieved by channels that exist and bounded by a
proof. Imports: design and what it stands on.
"""
