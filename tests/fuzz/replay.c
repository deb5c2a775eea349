/* Runs a fuzz target over its committed corpus, with any compiler, as a test that speaks
 * TAP. The corpus is the folder in tests/fuzz/corpus/ that the program is named after. */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>

enum { INPUT_MAX = 1 << 20 };

static void replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(INPUT_MAX);
    size_t size;
    char *exact;

    CHECK(file != NULL && bytes != NULL);
    size = fread(bytes, 1, INPUT_MAX, file);
    CHECK(ferror(file) == 0);
    fclose(file);
    exact = fuzz_exact(bytes, size);
    LLVMFuzzerTestOneInput((const uint8_t *)exact, size);
    free(exact);
    free(bytes);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    const char *source = getenv("TETRAD_SOURCE");
    const char *name = strrchr(argv[0], '_');
    struct dirent **entries = NULL;
    char folder[4096], path[8192];
    int count;

    CHECK(argc == 1 && source != NULL && name != NULL);
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", source, name + 1);
    count = scandir(folder, &entries, not_hidden, alphasort);
    CHECK(count > 0);
    printf("1..1\n");
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        replay(path);
        free(entries[i]);
    }
    free(entries);
    printf("ok 1 - %d inputs of %s\n", count, name + 1);
    return 0;
}
