# SPDX-License-Identifier: Apache-2.0
# A room is a folder of sources, one target and one line of rooms.txt. A room includes only rooms before it in that
# list (tests/layers_test.py checks it) and links those that it USES.

# lockstep_room(NAME [SOURCES file...] [USES room...] [HEADERS room...] [PUBLIC library...]
# [PRIVATE library...]): the target lockstep_NAME, a static library or, without sources, headers alone. HEADERS names rooms
# whose headers are included and which are not linked: those of the CUDA backend, which may not be there.
function(lockstep_room name)
    cmake_parse_arguments(arg "" "" "SOURCES;USES;HEADERS;PUBLIC;PRIVATE" ${ARGN})
    list(TRANSFORM arg_USES PREPEND lockstep_)
    if(NOT arg_SOURCES)
        add_library(lockstep_${name} INTERFACE)
        target_include_directories(lockstep_${name} INTERFACE ${PROJECT_SOURCE_DIR})
        target_link_libraries(lockstep_${name} INTERFACE ${arg_USES} ${arg_PUBLIC})
        return()
    endif()
    add_library(lockstep_${name} STATIC ${arg_SOURCES})
    target_include_directories(lockstep_${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(lockstep_${name}
        PUBLIC ${arg_USES} ${arg_PUBLIC} PRIVATE lockstep_warnings ${arg_PRIVATE})
    lockstep_reuse_headers(lockstep_${name} headers_of_rooms)
endfunction()

# lockstep_cuda_room(NAME GROUP ...): a room of the CUDA backend, a target only where CUDA was found. Its sources are
# also kept in the list LOCKSTEP_CUDA_<GROUP>_SOURCES, which the tests compile for an emulated device.
function(lockstep_cuda_room name group)
    cmake_parse_arguments(arg "" "" "SOURCES;USES;HEADERS;PUBLIC;PRIVATE" ${ARGN})
    if(arg_SOURCES)
        list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
        set_property(GLOBAL APPEND PROPERTY LOCKSTEP_CUDA_${group}_SOURCES ${arg_SOURCES})
    endif()
    if(LOCKSTEP_CUDA_FOUND)
        lockstep_room(${name} ${ARGN})
    endif()
endfunction()

# lockstep_floor(NAME room...): one name for the rooms of a top folder.
function(lockstep_floor name)
    list(TRANSFORM ARGN PREPEND lockstep_ OUTPUT_VARIABLE rooms)
    add_library(lockstep_${name} INTERFACE)
    target_link_libraries(lockstep_${name} INTERFACE ${rooms})
endfunction()
