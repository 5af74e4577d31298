# SPDX-License-Identifier: Apache-2.0
# Run by cpack after it has packed: cpack counts a link as a copy of what it points to.
if(CPACK_GENERATOR STREQUAL DEB)
    foreach(package ${CPACK_PACKAGE_FILES})
        execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/debian-size.sh ${package} COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
endif()
