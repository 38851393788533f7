# libchakra.so: the facade, the command and all rooms below them. It shows what CHAKRA_API marks and hides all else.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/library.cpp CONTENT "")
add_library(chakra_shared SHARED ${CMAKE_BINARY_DIR}/library.cpp)
set_target_properties(chakra_shared PROPERTIES OUTPUT_NAME chakra EXPORT_NAME chakra SOVERSION ${PROJECT_VERSION}
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
target_include_directories(chakra_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
target_compile_features(chakra_shared INTERFACE cxx_std_20)
target_link_libraries(chakra_shared PRIVATE -Wl,--whole-archive chakra_facade chakra_cli -Wl,--no-whole-archive)
# Instances of the standard library's templates are not hidden by the compiler.
set(map ${CMAKE_SOURCE_DIR}/cmake/library.map)
target_link_options(chakra_shared PRIVATE -Wl,--version-script=${map} -Wl,--gc-sections -Wl,-Bsymbolic)
set_target_properties(chakra_shared PROPERTIES LINK_DEPENDS ${map})

add_executable(chakra chakra/cli/main.cpp)
target_link_libraries(chakra PRIVATE chakra_shared)
get_property(plugins GLOBAL PROPERTY chakra_plugins)
if(plugins)
  add_dependencies(chakra ${plugins})  # it opens them, from the folder that it is in
endif()
