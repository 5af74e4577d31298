# SPDX-License-Identifier: Apache-2.0
# The presets of the sanitizers compile the standard library's headers once instead of in each source, which saves a fifth
# to a third of the time that a source takes. The preset release does not, so that a source that forgets an include fails there.
# In headers that were compiled before, GCC 12 sees overflows inside std::string that cannot be; the preset tsan turns these
# warnings off.
option(LOCKSTEP_PRECOMPILED_HEADERS "Compile the standard library's headers once for all sources" OFF)

# lockstep_headers_set(NAME header...): the target NAME holds these and the standard library's headers, compiled with its
# options. GCC refuses a set in a source that is compiled with other options.
function(lockstep_headers_set name)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    target_link_libraries(${name} PRIVATE lockstep_warnings)
    target_precompile_headers(${name} PRIVATE
        <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <filesystem> <fstream> <functional>
        <iostream> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread>
        <unordered_map> <utility> <variant> <vector> ${ARGN})
endfunction()

# lockstep_reuse_headers(TARGET NAME): TARGET is compiled with the set NAME if this build has sets.
function(lockstep_reuse_headers target name)
    if(LOCKSTEP_PRECOMPILED_HEADERS)
        set_target_properties(${target} PROPERTIES PRECOMPILE_HEADERS_REUSE_FROM ${name})
    endif()
endfunction()

if(LOCKSTEP_PRECOMPILED_HEADERS)
    # Some targets use OpenMP and some do not; a set suits both if all are compiled with its option.
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${OpenMP_CXX_FLAGS}>")
    set(LOCKSTEP_HEADERS_SOURCE ${PROJECT_BINARY_DIR}/headers_set.cpp)
    file(CONFIGURE OUTPUT ${LOCKSTEP_HEADERS_SOURCE} CONTENT "// only there to compile the headers\n")
    foreach(name headers_of_rooms headers_of_fuzzed_rooms)
        add_library(${name} STATIC ${LOCKSTEP_HEADERS_SOURCE})
        lockstep_headers_set(${name})
    endforeach()
endif()
