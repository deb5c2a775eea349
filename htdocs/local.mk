# The document root that ships. The build directory gets a complete copy, so that a build
# outside the source tree can serve its own htdocs/.

htdocsdir = $(pkgdatadir)/htdocs
dist_htdocs_DATA = htdocs/index.html
nodist_htdocs_DATA = htdocs/6k
CLEANFILES += htdocs/6k

# The load tests' object: 6,144 printable bytes that vary and are the same in every build.
htdocs/6k: $(srcdir)/htdocs/6k.awk
	$(AM_V_GEN)$(MKDIR_P) htdocs && LC_ALL=C $(AWK) -f $(srcdir)/htdocs/6k.awk >$@.new && mv $@.new $@
EXTRA_DIST += htdocs/6k.awk

# By content and not by path, because inside the source tree the two are one file.
.PHONY: htdocs-copy htdocs-clean
htdocs-copy: htdocs/6k
	@for file in $(dist_htdocs_DATA); do \
	    cmp -s $(srcdir)/$$file $$file || cp $(srcdir)/$$file $$file || exit 1; \
	done
all-local: htdocs-copy

htdocs-clean:
	@test $(srcdir)/htdocs -ef htdocs || rm -f $(dist_htdocs_DATA)
clean-local: htdocs-clean
