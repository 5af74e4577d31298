# SPDX-License-Identifier: Apache-2.0
# Run by cpack before it packs: the archive, unlike Debian's package, brings what its programs need (portable.sh).
if(CPACK_GENERATOR STREQUAL TGZ)
    execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/portable.sh ${CPACK_TEMPORARY_INSTALL_DIRECTORY} COMMAND_ERROR_IS_FATAL ANY)
endif()
