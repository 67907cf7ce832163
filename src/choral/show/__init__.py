"""What people see: the command line, pictures, progress, reports and the studio.

Comes in: files, tables and answers of the rooms below. Goes out: text, pages and pictures. Imports: all other rooms; none of
these imports it, except that the paper's room draws with `show/plots`.
"""
