# SPDX-License-Identifier: Apache-2.0
# lockstep_library(NAME SOURCES... ): a folder's static library with the project's warnings and include root.
# -Wrestrict is off: GCC 12 sees overlaps inside std::string that cannot be (its bug 105329).
add_library(lockstep_warnings INTERFACE)
target_compile_options(lockstep_warnings INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wno-sign-conversion;-Wno-restrict>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-restrict>"
    "$<$<AND:$<BOOL:${LOCKSTEP_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>"
    "$<$<AND:$<BOOL:${LOCKSTEP_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:-Werror=all-warnings>")

function(lockstep_library name)
    add_library(${name} STATIC ${ARGN})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE lockstep_warnings)
endfunction()
