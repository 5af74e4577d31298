# SPDX-License-Identifier: Apache-2.0
# The CUDA backend is built where nvcc is found and left out whole where it is not (docs/cuda.md).
# LOCKSTEP_CUDA_FOUND says which.
set(LOCKSTEP_CUDA AUTO CACHE STRING "The CUDA backend: ON, OFF, or AUTO (where nvcc is found)")
set_property(CACHE LOCKSTEP_CUDA PROPERTY STRINGS AUTO ON OFF)
set(LOCKSTEP_CUDA_FOUND OFF)

if(NOT LOCKSTEP_CUDA STREQUAL OFF)
    # The toolkit's own place, which is seldom in PATH.
    if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
        find_program(LOCKSTEP_NVCC nvcc PATHS /usr/local/cuda/bin)
        if(LOCKSTEP_NVCC)
            set(ENV{CUDACXX} ${LOCKSTEP_NVCC})
        endif()
    endif()
    include(CheckLanguage)
    check_language(CUDA)
    set(missing)
    if(NOT CMAKE_CUDA_COMPILER)
        set(missing "there is no nvcc: install the CUDA toolkit, or name it by CUDACXX")
    else()
        get_filename_component(nvcc_folder ${CMAKE_CUDA_COMPILER} DIRECTORY)
        execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_version)
        string(REGEX REPLACE ".*release ([0-9.]+).*" "\\1" nvcc_version "${nvcc_version}")
        find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nvcc_folder}/../include)
        if(nvcc_version VERSION_LESS 12.4)
            set(missing "${CMAKE_CUDA_COMPILER} is of CUDA ${nvcc_version}: 12.4 or newer is needed")
        elseif(NOT NCCL_INCLUDE_DIR)
            set(missing "there is no nccl.h: install libnccl-dev, or name its folder by -DNCCL_INCLUDE_DIR=")
        endif()
    endif()
    if(NOT missing)
        # Ampere, Hopper and, from 12.8 on, Blackwell; what lies between and after is compiled from PTX at its first start.
        # enable_language reads CUDAARCHS.
        if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
            set(targets 80 90a-real 100-real)
            if(nvcc_version VERSION_LESS 12.8)
                list(REMOVE_ITEM targets 100-real)
            endif()
            set(CMAKE_CUDA_ARCHITECTURES ${targets} CACHE STRING "CUDA targets")
        endif()
        enable_language(CUDA)
        # CMake 3.25 does not know that nvcc has C++20. constexpr functions run on the device as they are.
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
        string(APPEND CMAKE_CUDA_FLAGS " --expt-relaxed-constexpr")
        # CMake 3.25 marks this target as deprecated whether or not it is there, and CUDA 13 has none.
        if(NOT TARGET CUDA::nvToolsExt)
            add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
        endif()
        # The runtime must be the compiler's own: a machine may have links to another toolkit's in /usr/local/lib.
        find_library(CUDA_cudart_static_LIBRARY cudart_static NO_DEFAULT_PATH
            PATHS ${CMAKE_CUDA_COMPILER_TOOLKIT_LIBRARY_ROOT} PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)
        find_package(CUDAToolkit REQUIRED)
        find_path(NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
        set(LOCKSTEP_CUDA_FOUND ON)
    elseif(LOCKSTEP_CUDA STREQUAL ON)
        message(FATAL_ERROR "LOCKSTEP_CUDA=ON, but ${missing}")
    else()
        message(STATUS "GPUs are left out: ${missing}")
    endif()
endif()

include(Cudnn)
