"""What an outside examiner of this product needs: people, plans, links and tokens, and who may do what where.

For development and tests only; the command that uses it refuses to run in production.
"""
