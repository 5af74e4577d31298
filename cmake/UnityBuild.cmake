# SPDX-License-Identifier: Apache-2.0
# tests/run.sh and the presets of the sanitizers compile several sources of a target as one (CMAKE_UNITY_BUILD), so that a
# header is read, and a template instantiated, once for all of them. The preset release, and CMake without a preset, compile
# each source alone: one that uses another's include or name without saying so fails there. In the build of tests/run.sh it
# fails in tests/includes_test.py once that chooses it.

# lockstep_compile_apart(TARGET...): these targets' sources are never compiled as one, because they define different things
# of the same name, each for itself, or need a header's templates before the header of another source.
function(lockstep_compile_apart)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD OFF)
endfunction()

# lockstep_compile_sources_apart(file...): the same for some sources of a target.
function(lockstep_compile_sources_apart)
    if(ARGN)
        set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
endfunction()
