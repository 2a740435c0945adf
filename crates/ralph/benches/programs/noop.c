/* The floor: what it costs to start and end any static program here. */
int main(void) { return 0; }
