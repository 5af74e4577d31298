# SPDX-License-Identifier: Apache-2.0
# Run by cpack before it packs: in Debian's package, /usr/bin has no names that other packages may want.
if(CPACK_GENERATOR STREQUAL DEB)
    execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/debian-names.sh ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/lockstep/usr
        COMMAND_ERROR_IS_FATAL ANY)
endif()
