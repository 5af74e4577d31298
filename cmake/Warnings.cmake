# SPDX-License-Identifier: Apache-2.0
# lockstep_library(NAME SOURCES... ): a folder's static library with the project's warnings and include root.
# -Wrestrict is off: GCC 12 sees overlaps inside std::string that cannot be (its bug 105329).
add_library(lockstep_warnings INTERFACE)
target_compile_options(lockstep_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wno-restrict
    $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)

function(lockstep_library name)
    add_library(${name} STATIC ${ARGN})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE lockstep_warnings)
endfunction()
