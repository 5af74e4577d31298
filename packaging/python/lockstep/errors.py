# SPDX-License-Identifier: Apache-2.0
"""The one exception of this package."""


class LockstepError(Exception):
    """What a program of Lockstep said when it failed, or why it could not be started.

    `code` is its exit code: 2 where nothing was started, 128 and the signal's number where a signal ended it.
    """

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code
