# SPDX-License-Identifier: Apache-2.0
# Every library that Lockstep uses; docs/dependencies.md says why each one and not another.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
# Debian's own dnnl-config.cmake asks for OpenCL headers, which nothing here needs.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hdf5 REQUIRED IMPORTED_TARGET hdf5)
# Debian's shared HDF5 can read from the cloud and brings libcurl with thirty more libraries into every
# process, which is half of what it takes to start one; of the archive only what is used is linked.
find_library(HDF5_ARCHIVE libhdf5.a HINTS ${hdf5_LIBRARY_DIRS})
find_library(SZIP_LIBRARY sz)
find_package(ZLIB REQUIRED)
add_library(lockstep_hdf5 INTERFACE)
if(HDF5_ARCHIVE AND SZIP_LIBRARY)
    target_include_directories(lockstep_hdf5 SYSTEM INTERFACE ${hdf5_INCLUDE_DIRS})
    target_link_libraries(lockstep_hdf5 INTERFACE
        ${HDF5_ARCHIVE} ${SZIP_LIBRARY} ZLIB::ZLIB ${CMAKE_DL_LIBS})
    target_link_options(lockstep_hdf5 INTERFACE -Wl,--exclude-libs,libhdf5.a)
else()
    target_link_libraries(lockstep_hdf5 INTERFACE PkgConfig::hdf5)
endif()
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(libedit REQUIRED IMPORTED_TARGET libedit)
find_path(STEMMER_INCLUDE_DIR libstemmer.h REQUIRED)
find_library(STEMMER_LIBRARY NAMES libstemmer.a stemmer REQUIRED)
add_library(lockstep_stemmer INTERFACE)
target_include_directories(lockstep_stemmer SYSTEM INTERFACE ${STEMMER_INCLUDE_DIR})
target_link_libraries(lockstep_stemmer INTERFACE ${STEMMER_LIBRARY})
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(sentencepiece REQUIRED IMPORTED_TARGET sentencepiece)
pkg_check_modules(nlohmann_json REQUIRED IMPORTED_TARGET nlohmann_json)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_path(GLOO_INCLUDE_DIR gloo/context.h REQUIRED)
find_library(GLOO_LIBRARY gloo REQUIRED)
# MPI is used by one loadable module only; a build without it has every other way to run.
find_package(MPI COMPONENTS CXX)
