# What `cmake --install` puts where. All paths are relative to the prefix, so that it can be moved:
#   bin/           the command, and the names that people type, as links to it
#   lib/chakra/    libchakra.so, which the command is
#   lib/cmake/chakra, lib/pkgconfig, include/   for programs of one's own (component library): four headers, and those
#                  of the classes of mlcommons/chakra, whose archives lie in lib/chakra/
#   share/         documentation, manual pages, completion, examples and sources of plugins
# `./dev package` adds the shared libraries that the command needs to lib/chakra/, and makes a tarball of it; a wheel
# (tools/python_package.py) and `./dev deb` have the component command.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME command)
include(CMakePackageConfigHelpers)

install(TARGETS chakra_shared EXPORT chakra-targets RUNTIME_DEPENDENCY_SET command
        LIBRARY DESTINATION lib/chakra NAMELINK_COMPONENT library)
install(FILES chakra/chakra.h chakra/options.h chakra/trace.h DESTINATION include/chakra COMPONENT library)
install(FILES chakra/base/result.h DESTINATION include/chakra/base COMPONENT library)
install(EXPORT chakra-targets NAMESPACE chakra:: DESTINATION lib/cmake/chakra COMPONENT library)
configure_package_config_file(cmake/chakra-config.cmake.in chakra-config.cmake INSTALL_DESTINATION lib/cmake/chakra)
write_basic_package_version_file(chakra-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/chakra-config.cmake ${CMAKE_BINARY_DIR}/chakra-config-version.cmake
        DESTINATION lib/cmake/chakra COMPONENT library)
configure_file(cmake/chakra.pc.in chakra.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/chakra.pc DESTINATION lib/pkgconfig COMPONENT library)

# The feeder classes of mlcommons/chakra show libprotobuf's classes, so they are an archive beside the library, with the
# archives of the rooms that they stand on. Their own headers are the only ones.
if(TARGET chakra_feeders)
  set(needed feeders)
  file(STRINGS ${CMAKE_SOURCE_DIR}/rooms.txt lines REGEX "^[a-z_]+:")
  list(REVERSE lines)  # highest first: a room is needed by those before it
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([a-z_]+):(.*)$" _ "${line}")
    set(room ${CMAKE_MATCH_1})
    if(room IN_LIST needed)
      separate_arguments(deps UNIX_COMMAND "${CMAKE_MATCH_2}")
      list(APPEND needed ${deps})
      set_target_properties(chakra_${room} PROPERTIES EXPORT_NAME ${room})
      install(TARGETS chakra_${room} EXPORT chakra-feeders-targets ARCHIVE DESTINATION lib/chakra COMPONENT library)
      string(APPEND feeders_libs " -lchakra_${room}")
    endif()
  endforeach()
  set_target_properties(et_def PROPERTIES OUTPUT_NAME chakra_et_def)
  install(TARGETS et_def EXPORT chakra-feeders-targets ARCHIVE DESTINATION lib/chakra COMPONENT library)
  install(FILES chakra/feeders/feeders.h DESTINATION include/chakra/feeders COMPONENT library)
  install(DIRECTORY chakra/feeders/include DESTINATION include/chakra/feeders COMPONENT library)
  install(FILES ${CMAKE_BINARY_DIR}/generated/et_def.pb.h DESTINATION include/chakra/feeders/include COMPONENT library)
  install(EXPORT chakra-feeders-targets NAMESPACE chakra:: DESTINATION lib/cmake/chakra COMPONENT library)
  configure_file(cmake/chakra-feeders.pc.in chakra-feeders.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/chakra-feeders.pc DESTINATION lib/pkgconfig COMPONENT library)
endif()

# ---- the command -------------------------------------------------------------------------------------
# DT_RPATH, not DT_RUNPATH: it holds for what the libraries in lib/chakra need themselves, too.
target_link_options(chakra PRIVATE -Wl,--disable-new-dtags)
set_target_properties(chakra PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/chakra")
install(TARGETS chakra RUNTIME_DEPENDENCY_SET command RUNTIME DESTINATION bin)
# Not what every system has: the C library, and those of the compiler, which want to be as new as the C library.
install(RUNTIME_DEPENDENCY_SET command
        PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so" "^ld-linux"
        LIBRARY DESTINATION lib/chakra COMPONENT bundle EXCLUDE_FROM_ALL)

# The names stand in the table that gives them their meaning.
file(STRINGS ${CMAKE_SOURCE_DIR}/chakra/cli/names.cpp names REGEX "^    {\"chakra_[a-z_]+\",")
foreach(line IN LISTS names)
  string(REGEX MATCH "chakra_[a-z_]+" name "${line}")
  add_custom_command(TARGET chakra POST_BUILD
                     COMMAND ${CMAKE_COMMAND} -E create_symlink chakra ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  install(CODE "file(CREATE_LINK chakra \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/${name}\" SYMBOLIC)")
endforeach()

# Manual pages and completion, by the command itself. Other machines' programs do not run here.
if(NOT CMAKE_CROSSCOMPILING)
  set(shells ${CMAKE_BINARY_DIR}/share)
  file(MAKE_DIRECTORY ${shells}/bash-completion/completions ${shells}/zsh/site-functions ${shells}/fish/vendor_completions.d)
  add_custom_command(TARGET chakra POST_BUILD VERBATIM WORKING_DIRECTORY ${shells}
                     COMMAND $<TARGET_FILE:chakra> manual -o man
                     COMMAND sh -c "\"$1\" completion bash >bash-completion/completions/chakra" sh $<TARGET_FILE:chakra>
                     COMMAND sh -c "\"$1\" completion zsh >zsh/site-functions/_chakra" sh $<TARGET_FILE:chakra>
                     COMMAND sh -c "\"$1\" completion fish >fish/vendor_completions.d/chakra.fish" sh $<TARGET_FILE:chakra>)
  install(DIRECTORY ${shells}/ DESTINATION share)
endif()

install(DIRECTORY docs DESTINATION share/doc/chakra PATTERN plan.md EXCLUDE PATTERN design EXCLUDE)
install(FILES README.md CHANGELOG.md LICENSE SECURITY.md THIRD_PARTY_NOTICES.md DESTINATION share/doc/chakra)
install(DIRECTORY examples DESTINATION share/chakra)

# Plugins are built where they run, against the MPI and the torch that are there; `chakra doctor --plugins` says how.
install(FILES chakra/replay/mpi/mpi_api.h chakra/replay/mpi/mpi_plugin.cpp
        DESTINATION share/chakra/plugins/chakra/replay/mpi)
install(FILES chakra/replay_torch/torch_abi.h DESTINATION share/chakra/plugins/chakra/replay_torch)
install(DIRECTORY chakra/replay_torch/plugin DESTINATION share/chakra/plugins/chakra/replay_torch)

# ---- `./dev deb`: the component command, with the Debian packages that it needs -----------------------------------
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME chakra-et)
set(CPACK_PACKAGE_CONTACT "the chakra developers <chakra@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Link, check, simulate and replay Chakra execution traces")
set(CPACK_INSTALL_CMAKE_PROJECTS ${CMAKE_BINARY_DIR} chakra command /)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "graphviz, libfabric1, openmpi-bin")
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # cpack would build the tests first
include(CPack)
