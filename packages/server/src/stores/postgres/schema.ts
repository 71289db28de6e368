export type PostgresMigration = { readonly version: number; readonly sql: string }

/**
 * Every step from an empty schema to the current schema. To add a step, append it with the next version. Never change a
 * published step. Ids and folders are compared by bytes (collation "C"), as in every other store.
 */
export const postgresMigrations: readonly PostgresMigration[] = [
  {
    version: 1,
    sql: `
      CREATE TABLE nodes (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        url text NOT NULL,
        place text COLLATE "C" NOT NULL,
        -- The name of the machine, for people.
        machine text NOT NULL,
        version text NOT NULL,
        -- When the process was started, by the clock of the database.
        started_at timestamptz NOT NULL,
        -- When the lease was last extended.
        extended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires_at timestamptz NOT NULL,
        -- How long this node waited for the answer to its last statement about its lease.
        latency_ms double precision,
        -- Never taken back: a node that comes back gets another id.
        fenced_at timestamptz,
        settings_seen bigint NOT NULL,
        -- In the environment of the agents of this node.
        mark text NOT NULL
      );

      CREATE TABLE sessions (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        epoch text NOT NULL,
        head bigint NOT NULL,
        agent text COLLATE "C" NOT NULL,
        status text NOT NULL,
        archived boolean NOT NULL,
        pinned boolean NOT NULL,
        unsettled boolean NOT NULL,
        waiting_since bigint,
        updated_at bigint NOT NULL,
        agent_session_id text COLLATE "C",
        search text NOT NULL,
        state text NOT NULL,
        owner integer,
        term bigint NOT NULL DEFAULT 0,
        -- The owner before, if it has not released the session.
        former_owner integer,
        -- The owner is not at the place of the session. It records, but runs no agent.
        caretaker boolean NOT NULL DEFAULT false,
        place text COLLATE "C"
      );
      CREATE INDEX sessions_of_owners ON sessions (owner) WHERE owner IS NOT NULL;
      CREATE INDEX sessions_listed ON sessions (pinned DESC, updated_at DESC, id);
      CREATE INDEX sessions_unsettled ON sessions (id) WHERE unsettled;
      CREATE INDEX sessions_waiting ON sessions (waiting_since, id) WHERE waiting_since IS NOT NULL;
      CREATE INDEX sessions_of_conversations ON sessions (agent_session_id) WHERE agent_session_id IS NOT NULL;

      CREATE TABLE events (
        session_key bigint NOT NULL,
        seq bigint NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (session_key, seq)
      );

      CREATE TABLE receipts (
        session_key bigint NOT NULL,
        command_id text COLLATE "C" NOT NULL,
        hash text NOT NULL,
        receipt text NOT NULL,
        PRIMARY KEY (session_key, command_id)
      );

      CREATE TABLE checkpoints (
        session_key bigint NOT NULL,
        block integer NOT NULL,
        field text COLLATE "C" NOT NULL,
        part integer NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (session_key, block, field, part)
      );

      CREATE TABLE deletions (session_key bigint PRIMARY KEY);

      CREATE TABLE rules (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        session_id text COLLATE "C",
        rule text NOT NULL
      );

      CREATE TABLE trusted_folders (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        folder text COLLATE "C" NOT NULL,
        -- Empty for a store that is not used by nodes.
        place text COLLATE "C" NOT NULL,
        trusted_at bigint NOT NULL,
        UNIQUE (folder, place)
      );

      CREATE TABLE environments (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        scope text NOT NULL,
        -- The id of the session, or the path of the folder.
        target text COLLATE "C" NOT NULL,
        -- The place of the folder, or empty.
        place text COLLATE "C" NOT NULL,
        variables text NOT NULL,
        UNIQUE (scope, target, place)
      );

      CREATE TABLE devices (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        name text NOT NULL,
        public_key text NOT NULL,
        created_at bigint NOT NULL,
        last_seen_at bigint NOT NULL,
        revoked_at bigint
      );

      -- Has a row from the start of \`parley migrate\` into this database until everything is copied.
      CREATE TABLE unfinished_copy (begun_at timestamptz NOT NULL DEFAULT clock_timestamp());

      -- Raised with every change of a setting, in the same transaction. Nothing may be notified here: that would make
      -- the appends of all sessions wait for each other.
      CREATE TABLE settings_version (version bigint NOT NULL);
      INSERT INTO settings_version VALUES (1);
      CREATE FUNCTION settings_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS
        'BEGIN UPDATE settings_version SET version = version + 1; RETURN NULL; END';
      CREATE TRIGGER settings_changed AFTER INSERT OR UPDATE OR DELETE ON rules
        FOR EACH ROW EXECUTE FUNCTION settings_changed();
      CREATE TRIGGER settings_changed AFTER INSERT OR UPDATE OR DELETE ON trusted_folders
        FOR EACH ROW EXECUTE FUNCTION settings_changed();
      CREATE TRIGGER settings_changed AFTER INSERT OR UPDATE OR DELETE ON environments
        FOR EACH ROW EXECUTE FUNCTION settings_changed();
      CREATE TRIGGER device_added AFTER INSERT OR DELETE ON devices
        FOR EACH ROW EXECUTE FUNCTION settings_changed();
      CREATE TRIGGER device_revoked AFTER UPDATE ON devices FOR EACH ROW
        WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION settings_changed();
    `,
  },
  {
    version: 2,
    sql: `
      CREATE TABLE access_records (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        kind text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        data text NOT NULL,
        created_at bigint NOT NULL,
        used_at bigint,
        retired_at bigint,
        UNIQUE (kind, id)
      );
      INSERT INTO access_records (kind, id, data, created_at, used_at, retired_at)
        -- The name is stored as the content of a JSON string.
        SELECT 'device', id, '{"name":"' || name || '","publicKey":' || to_json(public_key)::text || '}',
          created_at, last_seen_at, revoked_at
        FROM devices ORDER BY number;
      DROP TABLE devices;
      -- The time of the last use is no setting.
      CREATE TRIGGER access_added AFTER INSERT OR DELETE ON access_records
        FOR EACH ROW EXECUTE FUNCTION settings_changed();
      CREATE TRIGGER access_changed AFTER UPDATE ON access_records FOR EACH ROW
        WHEN ((OLD.data, OLD.retired_at) IS DISTINCT FROM (NEW.data, NEW.retired_at))
        EXECUTE FUNCTION settings_changed();

      ALTER TABLE trusted_folders ADD COLUMN trusted_by text;
    `,
  },
  {
    version: 3,
    sql: `
      CREATE TABLE alert_targets (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        data text NOT NULL,
        created_at bigint NOT NULL,
        last text
      );
      -- The last delivery to a target is no setting.
      CREATE TRIGGER target_added AFTER INSERT OR DELETE ON alert_targets
        FOR EACH ROW EXECUTE FUNCTION settings_changed();
      CREATE TRIGGER target_changed AFTER UPDATE ON alert_targets FOR EACH ROW
        WHEN (OLD.data IS DISTINCT FROM NEW.data) EXECUTE FUNCTION settings_changed();

      CREATE TABLE alert_cursors (session text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL);
      CREATE TABLE alert_deliveries (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        target text COLLATE "C" NOT NULL,
        alert text COLLATE "C" NOT NULL,
        session text COLLATE "C" NOT NULL,
        subject text COLLATE "C" NOT NULL,
        body text NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        next_at bigint NOT NULL,
        claimed_until bigint,
        expires_at bigint NOT NULL,
        done_at bigint,
        sent integer NOT NULL DEFAULT 0,
        UNIQUE (target, alert)
      );
      CREATE INDEX alert_deliveries_due ON alert_deliveries (next_at, number) WHERE done_at IS NULL;
      CREATE INDEX alert_deliveries_of_subjects ON alert_deliveries (subject, target, number);
      CREATE INDEX alert_deliveries_of_sessions ON alert_deliveries (session);
      -- The visible pages. A page that crashed stays until its time has passed.
      CREATE TABLE alert_presences (page text PRIMARY KEY, person text COLLATE "C" NOT NULL, until bigint NOT NULL);
      CREATE TABLE alert_keys (name text PRIMARY KEY, value text NOT NULL);
    `,
  },
  {
    version: 4,
    sql: `
      CREATE TABLE ledger (
        n bigint PRIMARY KEY,
        at bigint NOT NULL,
        kind text NOT NULL,
        subject text COLLATE "C" NOT NULL,
        actor text,
        address text,
        data text,
        prev text NOT NULL,
        key_id text NOT NULL,
        hash text NOT NULL,
        signature text NOT NULL
      );
      CREATE INDEX ledger_of_subjects ON ledger (subject, n);
      -- Drafts of ledger entries. Any node adds rows; one node at a time chains them.
      CREATE TABLE ledger_queue (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, draft text NOT NULL);
      CREATE TABLE ledger_lease (holder text NOT NULL, until timestamptz NOT NULL);
      INSERT INTO ledger_lease VALUES ('', clock_timestamp());
      CREATE TABLE seal_keys (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        public_key text NOT NULL,
        added_at bigint NOT NULL
      );
    `,
  },
  {
    version: 5,
    sql: `
      CREATE TABLE search_cursors (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session text COLLATE "C" NOT NULL UNIQUE,
        agent text COLLATE "C" NOT NULL,
        folder text COLLATE "C" NOT NULL,
        epoch text NOT NULL,
        seq bigint NOT NULL
      );
      CREATE TABLE search_entries (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session_key bigint NOT NULL,
        seq integer NOT NULL,
        kind smallint NOT NULL,
        words tsvector NOT NULL
      );
      CREATE INDEX search_entries_of_sessions ON search_entries (session_key);
      CREATE INDEX search_entries_of_words ON search_entries USING gin (words);
    `,
  },
  {
    version: 6,
    sql: `
      CREATE TABLE decide_links (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        hash text COLLATE "C" NOT NULL UNIQUE,
        session text COLLATE "C" NOT NULL,
        request text COLLATE "C" NOT NULL,
        -- Counts the links of a request, so that their number is limited.
        slot integer NOT NULL,
        input_hash text NOT NULL,
        decisions text NOT NULL,
        name text NOT NULL,
        created_by text NOT NULL,
        created_at bigint NOT NULL,
        expires_at bigint NOT NULL,
        used_at bigint,
        revoked_at bigint,
        UNIQUE (session, request, slot)
      );
      CREATE INDEX decide_links_expiring ON decide_links (expires_at);
    `,
  },
  {
    version: 7,
    sql: `
      -- The changed files that people have viewed, each with the content that was viewed.
      CREATE TABLE viewed (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session text COLLATE "C" NOT NULL,
        person text COLLATE "C" NOT NULL,
        path text COLLATE "C" NOT NULL,
        blob text NOT NULL
      );
      -- Paths are too long for an index of their own: there are few marks of a person in a session.
      CREATE INDEX viewed_of_sessions ON viewed (session, person);
    `,
  },
  {
    version: 8,
    sql: `
      -- Null until a node at the place of the session has found its project.
      ALTER TABLE sessions ADD COLUMN project text COLLATE "C";
      ALTER TABLE sessions ADD COLUMN folder text COLLATE "C";
      -- Paths can be too long for an ordinary index.
      CREATE INDEX sessions_of_projects ON sessions USING hash (project);
      CREATE INDEX sessions_without_project ON sessions (id) WHERE project IS NULL;
      CREATE TABLE project_settings (
        -- A hash of the project, the place and the field.
        key text PRIMARY KEY,
        project text NOT NULL,
        -- Empty for a store that is not used by nodes.
        place text NOT NULL,
        field text NOT NULL,
        value text NOT NULL,
        changed_at bigint NOT NULL,
        changed_by text
      );
    `,
  },
  {
    version: 9,
    sql: `
      -- The round of which a session is an attempt.
      ALTER TABLE sessions ADD COLUMN round text COLLATE "C";
      CREATE INDEX sessions_in_rounds ON sessions (pinned DESC, updated_at DESC, id) WHERE round IS NOT NULL;
    `,
  },
  {
    version: 10,
    sql: `
      -- The index is built again from the logs.
      TRUNCATE search_cursors, search_entries;
      -- search_entries has only the newest entries. Older entries are in segments.
      DROP INDEX search_entries_of_words;
      -- Every change of the segments raises the version, so that of several processes one makes the change.
      CREATE TABLE search_version (version bigint NOT NULL);
      INSERT INTO search_version VALUES (1);
      CREATE TABLE search_segments (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tier smallint NOT NULL,
        -- All numbers of entries in this segment are in this range.
        first bigint NOT NULL,
        last bigint NOT NULL,
        -- The segment that this one is being merged into.
        target bigint,
        -- The numbers of removed entries that this segment may contain.
        dead bigint[]
      );
      CREATE TABLE search_words (
        segment bigint NOT NULL,
        -- The first word of this row.
        word bytea NOT NULL,
        -- Words and the numbers of the entries that contain them.
        body bytea NOT NULL,
        PRIMARY KEY (segment, word)
      );
      -- The sessions, events and kinds of the entries of all segments.
      CREATE TABLE search_numbers (
        first bigint PRIMARY KEY,
        last bigint NOT NULL,
        -- The keys of the sessions in search_cursors.
        sessions bigint[] NOT NULL,
        body bytea NOT NULL
      );
      -- Sessions that were removed from search_cursors, but whose words are still in segments.
      CREATE TABLE search_removed (session_key bigint NOT NULL);
      CREATE FUNCTION search_session_removed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS
        'BEGIN INSERT INTO search_removed VALUES (OLD.key); RETURN NULL; END';
      CREATE TRIGGER search_session_removed AFTER DELETE ON search_cursors
        FOR EACH ROW EXECUTE FUNCTION search_session_removed();
    `,
  },
]
