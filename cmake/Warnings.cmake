# SPDX-License-Identifier: Apache-2.0
# The warnings that every target of the project is compiled with.
# -Wrestrict is off: GCC 12 sees overlaps inside std::string that cannot be (its bug 105329).
add_library(lockstep_warnings INTERFACE)
target_compile_options(lockstep_warnings INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wno-sign-conversion;-Wno-restrict>"
    # Where several sources are compiled as one, a name of one does not shadow a name of another, and a type in an unnamed
    # namespace is in no header. GCC 12 then also looks into more functions, and calls the text of an empty std::optional
    # uninitialized.
    "$<$<AND:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<COMPILE_LANGUAGE:CXX>>:-Wno-shadow;-Wno-subobject-linkage;-Wno-maybe-uninitialized>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-restrict>"
    "$<$<AND:$<BOOL:${LOCKSTEP_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>"
    "$<$<AND:$<BOOL:${LOCKSTEP_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:-Werror=all-warnings>")
