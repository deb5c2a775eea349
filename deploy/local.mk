# The unit of systemd, with the paths of this installation, which only make knows.

systemdsystemunit_DATA =
if INSTALL_SYSTEMD_UNIT
systemdsystemunit_DATA += deploy/tetrad.service
endif
CLEANFILES += deploy/tetrad.service
EXTRA_DIST += deploy/tetrad.service.in

deploy/tetrad.service: $(srcdir)/deploy/tetrad.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) deploy && $(SED) -e 's|@bindir[@]|$(bindir)|g' \
	    -e 's|@pkgdatadir[@]|$(pkgdatadir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g' \
	    $(srcdir)/deploy/tetrad.service.in >$@.new && mv $@.new $@
all-local: deploy/tetrad.service

TESTS += tests/service.py
EXTRA_DIST += tests/service.py
tests/service.log: deploy/tetrad.service tetrad
