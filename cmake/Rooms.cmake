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

# lockstep_cpu_room(NAME ...): a room of kernels for the CPU, with oneDNN and OpenMP.
function(lockstep_cpu_room name)
    lockstep_room(${name} ${ARGN} PUBLIC OpenMP::OpenMP_CXX PRIVATE ${DNNL_LIBRARY})
    target_include_directories(lockstep_${name} PRIVATE ${DNNL_INCLUDE_DIR})
    # Compare-and-select becomes vector code only if comparisons may not trap; NaN and infinity keep their meaning. TSan does
    # not see libgomp's barriers, and its hooks run before the instruction-set resolvers may be called, so these files are
    # compiled without it.
    target_compile_options(lockstep_${name} PRIVATE
        -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -mprefer-vector-width=512
        -fno-sanitize=thread)
    # No set of headers is compiled with these options.
    set_target_properties(lockstep_${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
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
        # From CMake 3.31 on nvcc's sources would be compiled as one, too. They have types of the same name.
        list(FILTER arg_SOURCES INCLUDE REGEX "\\.cu$")
        lockstep_compile_sources_apart(${arg_SOURCES})
    endif()
endfunction()

# lockstep_floor(NAME room...): one name for the rooms of a top folder.
function(lockstep_floor name)
    list(TRANSFORM ARGN PREPEND lockstep_ OUTPUT_VARIABLE rooms)
    add_library(lockstep_${name} INTERFACE)
    target_link_libraries(lockstep_${name} INTERFACE ${rooms})
endfunction()
