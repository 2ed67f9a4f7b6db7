# Files of the web page as C++: cmake -DOUT=x.cpp -DFOLDER=dir -DNAMES=a,b
# -DFUNCTION=page_files -P Embed.cmake writes a source that defines that
# function of http_page.hpp.
string(REPLACE "," ";" names "${NAMES}")
set(entries "")
foreach(name IN LISTS names)
  file(READ "${FOLDER}/${name}" content)
  string(FIND "${content}" ")embed\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${name} ends the raw string that it stands in")
  endif()
  string(APPEND entries "    {\"${name}\", R\"embed(${content})embed\"},\n")
endforeach()
file(WRITE "${OUT}"
     "// Made of ${NAMES} by cmake/Embed.cmake.\n#include \"monitor/http/http_page.hpp\"\n\n"
     "namespace ballast::monitor {\n\nnamespace {\n\n"
     "constexpr page_file ${FUNCTION}_made[] = {\n${entries}};\n\n} // namespace\n\n"
     "std::span<const page_file> ${FUNCTION}() {\n  return ${FUNCTION}_made;\n}\n\n"
     "} // namespace ballast::monitor\n")
