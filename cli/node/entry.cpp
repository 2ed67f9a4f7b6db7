extern "C" int ballast_node_version() { return 1; }
