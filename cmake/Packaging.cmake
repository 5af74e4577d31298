# SPDX-License-Identifier: Apache-2.0
# The installed tree runs from anywhere: the program finds its MPI module relative to itself.
include(GNUInstallDirs)
install(TARGETS lockstep RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT lockstep)
foreach(name ${LOCKSTEP_PROGRAM_NAMES})
    install(FILES ${PROJECT_BINARY_DIR}/bin/${name} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT lockstep)
endforeach()
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT lockstep)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT lockstep
    FILES_MATCHING PATTERN "*.md")
install(DIRECTORY slurm/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/slurm COMPONENT lockstep)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep/examples COMPONENT lockstep
    USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
# A shell looks for a file with the name of the command.
foreach(name lockstep distributed_train distributed_eval distributed_launch multiprocessing_train multiprocessing_eval)
    install(FILES packaging/completions/lockstep.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME ${name} COMPONENT lockstep)
    install(FILES packaging/completions/lockstep.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        RENAME ${name}.fish COMPONENT lockstep)
endforeach()
install(FILES packaging/completions/_lockstep DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT lockstep)
# The programs themselves say what their manual pages say.
set(pages ${PROJECT_BINARY_DIR}/generated/man)
install(CODE "execute_process(COMMAND ${PROJECT_SOURCE_DIR}/packaging/man_pages.sh ${PROJECT_BINARY_DIR}/bin/lockstep ${pages}
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT lockstep)
install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT lockstep)
install(FILES packaging/modulefile DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/lockstep RENAME ${PROJECT_VERSION}
    COMPONENT lockstep)
# The documents name the examples by their paths in the source tree.
file(RELATIVE_PATH examples ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_DATADIR}/lockstep/examples)
file(CREATE_LINK ${examples} ${PROJECT_BINARY_DIR}/generated/examples SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/generated/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT lockstep)
# A package of its own: without MPI everything else runs, and a cluster rebuilds just this module.
if(TARGET lockstep_mpi)
    install(TARGETS lockstep_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lockstep COMPONENT mpi)
endif()

# Debian's package is for this system and newer ones; the archive runs from wherever it is unpacked, on older ones too.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/PortableArchive.cmake ${PROJECT_SOURCE_DIR}/cmake/DebianTree.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianSize.cmake)
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_CONTACT "Lockstep maintainers <maintainers@lockstep.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LOCKSTEP_PACKAGE_NAME lockstep)
set(CPACK_DEBIAN_MPI_PACKAGE_NAME lockstep-mpi)
set(CPACK_DEBIAN_LOCKSTEP_PACKAGE_SUGGESTS "lockstep-mpi, openmpi-bin, slurm-client")
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "lockstep, openmpi-bin")
include(CPack)
