BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE answers (
	trial INTEGER NOT NULL, 
	rater INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	kind TEXT NOT NULL, 
	probe TEXT, 
	position INTEGER NOT NULL, 
	session INTEGER NOT NULL, 
	late BOOLEAN NOT NULL, 
	seconds FLOAT, 
	first_play FLOAT, 
	plays INTEGER NOT NULL, 
	focus_losses INTEGER NOT NULL, 
	intervals TEXT, 
	changes TEXT, 
	device TEXT, 
	began FLOAT, 
	comment TEXT, 
	study_version INTEGER NOT NULL, 
	PRIMARY KEY (trial)
);
INSERT INTO "answers" VALUES(1,1,'key-0',1800000000.0,'rating',NULL,1,1,0,2.0,NULL,1,0,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO "answers" VALUES(2,1,'key-1',1800000000.0,'rating',NULL,2,1,0,2.0,NULL,1,0,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO "answers" VALUES(3,1,'key-2',1800000000.0,'rating',NULL,3,1,0,2.0,NULL,1,0,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO "answers" VALUES(4,1,'key-3',1800000000.0,'rating',NULL,4,1,0,2.0,NULL,1,0,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO "answers" VALUES(5,2,'key-4',1800000060.0,'rating',NULL,1,1,0,2.0,NULL,1,0,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO "answers" VALUES(6,2,'key-5',1800000120.0,'rating',NULL,2,1,0,2.0,NULL,1,0,NULL,NULL,NULL,NULL,NULL,2);
CREATE TABLE consents (
	rater INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	agreed BOOLEAN NOT NULL, 
	version TEXT NOT NULL, 
	study_version INTEGER NOT NULL, 
	PRIMARY KEY (rater)
);
INSERT INTO "consents" VALUES(1,1800000000.0,1,'1',1);
INSERT INTO "consents" VALUES(2,1800000060.0,1,'1',1);
INSERT INTO "consents" VALUES(3,1800000120.0,0,'1',1);
CREATE TABLE demographics (
	rater INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	answers TEXT NOT NULL, 
	kept BOOLEAN NOT NULL, 
	PRIMARY KEY (rater)
);
CREATE TABLE exclusions (
	seq INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	rater INTEGER NOT NULL, 
	excluded BOOLEAN NOT NULL, 
	reason TEXT, 
	made_by TEXT NOT NULL, 
	PRIMARY KEY (seq)
);
CREATE TABLE flags (
	seq INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	rater INTEGER NOT NULL, 
	trial BIGINT NOT NULL, 
	stimulus TEXT, 
	reason TEXT NOT NULL, 
	comment TEXT, 
	skipped BOOLEAN NOT NULL, 
	PRIMARY KEY (seq)
);
CREATE TABLE headphones (
	rater INTEGER NOT NULL, 
	probe TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	given TEXT NOT NULL, 
	expected TEXT NOT NULL, 
	correct INTEGER NOT NULL, 
	passed BOOLEAN NOT NULL, 
	PRIMARY KEY (rater, probe)
);
CREATE TABLE invitations (
	invitation TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	note TEXT, 
	PRIMARY KEY (invitation)
);
CREATE TABLE journal (
	seq INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	kind TEXT NOT NULL, 
	rater INTEGER, 
	trial BIGINT, 
	unit INTEGER, 
	number FLOAT, 
	words TEXT, 
	PRIMARY KEY (seq)
);
INSERT INTO "journal" VALUES(1,1800000000.0,'set',NULL,NULL,NULL,NULL,'{"open": true, "cap": null, "code_complete": "A7RW4B6V", "code_screened_out": "EGXNLP78", "code_no_consent": "KMKBATYP", "return_url": null}');
INSERT INTO "journal" VALUES(2,1800000000.0,'arrived',1,NULL,NULL,NULL,'r3a02407e89ca8ccb');
INSERT INTO "journal" VALUES(3,1800000000.0,'consented',1,NULL,NULL,1.0,NULL);
INSERT INTO "journal" VALUES(4,1800000000.0,'ready',1,NULL,NULL,NULL,NULL);
INSERT INTO "journal" VALUES(5,1800000000.0,'planned',1,NULL,NULL,4.0,'{"target":4,"length":4,"probes":[]}');
INSERT INTO "journal" VALUES(6,1800000000.0,'leased',1,1,2,NULL,NULL);
INSERT INTO "journal" VALUES(7,1800000000.0,'leased',1,2,1,NULL,NULL);
INSERT INTO "journal" VALUES(8,1800000000.0,'leased',1,3,3,NULL,NULL);
INSERT INTO "journal" VALUES(9,1800000000.0,'shown',1,1,NULL,1.0,NULL);
INSERT INTO "journal" VALUES(10,1800000000.0,'answered',1,1,2,0.0,NULL);
INSERT INTO "journal" VALUES(11,1800000000.0,'leased',1,4,4,NULL,NULL);
INSERT INTO "journal" VALUES(12,1800000000.0,'shown',1,2,NULL,2.0,NULL);
INSERT INTO "journal" VALUES(13,1800000000.0,'answered',1,2,1,0.0,NULL);
INSERT INTO "journal" VALUES(14,1800000000.0,'shown',1,3,NULL,3.0,NULL);
INSERT INTO "journal" VALUES(15,1800000000.0,'answered',1,3,3,0.0,NULL);
INSERT INTO "journal" VALUES(16,1800000000.0,'shown',1,4,NULL,4.0,NULL);
INSERT INTO "journal" VALUES(17,1800000000.0,'answered',1,4,4,0.0,NULL);
INSERT INTO "journal" VALUES(18,1800000000.0,'ended',1,NULL,NULL,NULL,'complete');
INSERT INTO "journal" VALUES(19,1800000060.0,'arrived',2,NULL,NULL,NULL,'r3cc21fe82d4b2198');
INSERT INTO "journal" VALUES(20,1800000060.0,'consented',2,NULL,NULL,1.0,NULL);
INSERT INTO "journal" VALUES(21,1800000060.0,'ready',2,NULL,NULL,NULL,NULL);
INSERT INTO "journal" VALUES(22,1800000060.0,'planned',2,NULL,NULL,4.0,'{"target":4,"length":4,"probes":[]}');
INSERT INTO "journal" VALUES(23,1800000060.0,'leased',2,5,4,NULL,NULL);
INSERT INTO "journal" VALUES(24,1800000060.0,'leased',2,6,2,NULL,NULL);
INSERT INTO "journal" VALUES(25,1800000060.0,'leased',2,7,1,NULL,NULL);
INSERT INTO "journal" VALUES(26,1800000060.0,'shown',2,5,NULL,1.0,NULL);
INSERT INTO "journal" VALUES(27,1800000060.0,'answered',2,5,4,0.0,NULL);
INSERT INTO "journal" VALUES(28,1800000060.0,'leased',2,8,3,NULL,NULL);
INSERT INTO "journal" VALUES(29,1800000060.0,'shown',2,6,NULL,2.0,NULL);
INSERT INTO "journal" VALUES(30,1800000120.0,'arrived',3,NULL,NULL,NULL,'r07d15a37d30e465d');
INSERT INTO "journal" VALUES(31,1800000120.0,'consented',3,NULL,NULL,0.0,NULL);
INSERT INTO "journal" VALUES(32,1800000120.0,'ended',3,NULL,NULL,NULL,'no-consent');
INSERT INTO "journal" VALUES(33,1800000120.0,'answered',2,6,2,0.0,NULL);
INSERT INTO "journal" VALUES(34,1800000120.0,'shown',2,7,NULL,3.0,NULL);
CREATE TABLE kept (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "kept" VALUES('store secret','533d0122e89f01d9b037b2ded89198acc1b68a64f9c461954d7b52203690d5cb');
CREATE TABLE media_problems (
	seq INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	rater INTEGER NOT NULL, 
	trial BIGINT NOT NULL, 
	stimulus TEXT, 
	problem TEXT NOT NULL, 
	PRIMARY KEY (seq)
);
CREATE TABLE raters (
	number INTEGER NOT NULL, 
	rater TEXT NOT NULL, 
	at FLOAT NOT NULL, 
	recruiter TEXT NOT NULL, 
	person TEXT, 
	facts TEXT NOT NULL, 
	language TEXT NOT NULL, 
	device TEXT NOT NULL, 
	PRIMARY KEY (number), 
	CONSTRAINT raters_once UNIQUE (rater), 
	CONSTRAINT persons_once UNIQUE (person)
);
INSERT INTO "raters" VALUES(1,'r3a02407e89ca8ccb',1800000000.0,'prolific','769e29fb3fc44b2a8aaaa39cd39b5f98a66fc76b174dd674abd2aaafd5ae4ca6','{"session":"66f2dacefcbb28e8764636eaf44d8efbd1d4ae584ae2d3a52480bcd2d1b41b9e"}','en','{}');
INSERT INTO "raters" VALUES(2,'r3cc21fe82d4b2198',1800000060.0,'open',NULL,'{}','en','{}');
INSERT INTO "raters" VALUES(3,'r07d15a37d30e465d',1800000120.0,'open',NULL,'{}','en','{}');
CREATE TABLE ratings (
	trial INTEGER NOT NULL, 
	question TEXT NOT NULL, 
	rater INTEGER NOT NULL, 
	stimulus TEXT, 
	repeat INTEGER NOT NULL, 
	practice BOOLEAN NOT NULL, 
	value FLOAT, 
	answer TEXT, 
	machine TEXT, 
	shown TEXT, 
	verdict TEXT, 
	PRIMARY KEY (trial, question), 
	CONSTRAINT ratings_once UNIQUE (rater, stimulus, question, repeat, practice)
)
 WITHOUT ROWID

;
INSERT INTO "ratings" VALUES(1,'arousal',1,'s1',0,0,5.0,NULL,NULL,NULL,NULL);
INSERT INTO "ratings" VALUES(1,'valence',1,'s1',0,0,5.0,NULL,NULL,NULL,NULL);
INSERT INTO "ratings" VALUES(2,'arousal',1,'s0',0,0,5.0,NULL,NULL,NULL,NULL);
INSERT INTO "ratings" VALUES(2,'valence',1,'s0',0,0,5.0,NULL,NULL,NULL,NULL);
INSERT INTO "ratings" VALUES(3,'arousal',1,'s2',0,0,5.0,NULL,NULL,NULL,NULL);
INSERT INTO "ratings" VALUES(3,'valence',1,'s2',0,0,5.0,NULL,NULL,NULL,NULL);
INSERT INTO "ratings" VALUES(4,'arousal',1,'s3',0,0,5.0,NULL,NULL,NULL,NULL);
INSERT INTO "ratings" VALUES(4,'valence',1,'s3',0,0,5.0,NULL,NULL,NULL,NULL);
INSERT INTO "ratings" VALUES(5,'arousal',2,'s3',0,0,3.0,NULL,NULL,NULL,NULL);
INSERT INTO "ratings" VALUES(5,'valence',2,'s3',0,0,3.0,NULL,NULL,NULL,NULL);
INSERT INTO "ratings" VALUES(6,'arousal',2,'s1',0,0,7.0,NULL,NULL,NULL,NULL);
INSERT INTO "ratings" VALUES(6,'valence',2,'s1',0,0,7.0,NULL,NULL,NULL,NULL);
CREATE TABLE units (
	unit INTEGER NOT NULL, 
	stimulus TEXT NOT NULL, 
	question TEXT NOT NULL, 
	PRIMARY KEY (unit), 
	CONSTRAINT units_once UNIQUE (stimulus, question)
);
INSERT INTO "units" VALUES(1,'s0','');
INSERT INTO "units" VALUES(2,'s1','');
INSERT INTO "units" VALUES(3,'s2','');
INSERT INTO "units" VALUES(4,'s3','');
CREATE TABLE versions (
	version INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	hash TEXT NOT NULL, 
	study TEXT NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "versions" VALUES(1,1800000000.0,'e05fe78e6d016b56bb253976ab8aae95577ca321d0c2c1eba0952f4b652b025f','name: old-store
scales:
  nine:
    type: points
    points: 9
  ten:
    type: points
    points: 10
questions:
- id: valence
  text: How pleasant?
  scale: nine
- id: arousal
  text: How exciting?
  scale: nine
design:
  ratings_per_item: 3
  practice: 0
consent:
  text: Do you agree?
');
INSERT INTO "versions" VALUES(2,1800000120.0,'5a494cb5804e74bc3677d5b049f10e0bb2ff3433486395676662e451eec0a654','name: old-store
scales:
  nine:
    type: points
    points: 9
  ten:
    type: points
    points: 10
questions:
- id: valence
  text: How unpleasant?
  scale: nine
- id: arousal
  text: How exciting?
  scale: nine
design:
  ratings_per_item: 3
  practice: 0
consent:
  text: Do you agree?
');
COMMIT;
