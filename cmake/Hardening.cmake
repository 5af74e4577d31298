# SPDX-License-Identifier: Apache-2.0
# Protections of the Release build against what a hostile file or peer may still reach (docs/security.md):
# - a write beyond an array on the stack ends the program before its function returns, and large arrays cannot jump over
#   the guard page below the stack;
# - glibc's copying functions end the program where they would write beyond an object whose size is known. Level 3 also
#   follows sizes that are known only at run time; GCC has it from version 12 on, and older ones would warn about it;
# - programs are loaded at random addresses, and their tables of functions are filled at the start and then read-only.
# The sanitizers see more, and _FORTIFY_SOURCE would hide calls from them; it also needs an optimizing build.
# nvcc's host code is left out: apart from the starts of kernels it has no buffers.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
set(fortify_level 3)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
    set(fortify_level 2)
endif()
add_compile_options("$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-fstack-protector-strong;-fstack-clash-protection;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${fortify_level}>")
add_link_options("$<$<CONFIG:Release>:LINKER:-z,relro,-z,now>")
