# SPDX-License-Identifier: Apache-2.0
"""What bench/compare.py is made of: rows, turns, machine and tables. None of it needs torch."""
