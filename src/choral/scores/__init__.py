"""A score for the target, learned from a table as whole-numbered points.

Comes in: an opened table, and what is revealed and protected. Goes out: points (`choral.tables.points`), with what they
tell about records that they were not learned from. Nothing here decides about privacy: that is exact whatever a score is
worth. Imports: problem, tables.
"""
