# SPDX-License-Identifier: Apache-2.0
"""`python -m lockstep` is the program `lockstep`."""

from lockstep.command import lockstep

lockstep()
