// The policy interfaces are headers; this file keeps the library from being empty.
