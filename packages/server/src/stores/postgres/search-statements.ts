/**
 * The statements that change the segments of the search index. Each makes a whole step, if the version is the one that
 * was read before; otherwise it does nothing, and returns no row.
 */

/** Each line is a word and the numbers of its entries. */
export const wordStatement = `
  SELECT string_agg(word || ' ' || numbers, E'\\n' ORDER BY word COLLATE "C") AS lines FROM (
    SELECT word, string_agg(number::text, ' ' ORDER BY number) AS numbers
    FROM search_entries, unnest(tsvector_to_array(words)) AS word WHERE number = ANY ($1::bigint[])
    GROUP BY word) AS w`

/** The part of a statement that permits its change. Its parameter is the version that was read. */
const ok = 'ok AS (UPDATE search_version SET version = version + 1 WHERE version = $1 RETURNING version)'

/**
 * Does nothing if an entry or its session is being removed. The statement does not wait for the removal, because the
 * removal may wait for the statement. A removal that begins later finds the entries in the segment.
 */
export const gatherStatement = `
  WITH e AS (SELECT FROM search_entries WHERE number = ANY ($2::bigint[]) FOR UPDATE SKIP LOCKED),
  c AS (SELECT FROM search_cursors WHERE key = ANY ($3::bigint[]) FOR KEY SHARE SKIP LOCKED),
  ok AS (UPDATE search_version SET version = version + 1
    WHERE version = $1 AND (SELECT count(*) FROM e) = cardinality($2::bigint[])
      AND (SELECT count(*) FROM c) = cardinality($3::bigint[])
    RETURNING ($2::bigint[])[1] AS first, ($2::bigint[])[cardinality($2::bigint[])] AS last),
  d AS (DELETE FROM search_entries USING ok WHERE number = ANY ($2::bigint[])),
  n AS (INSERT INTO search_numbers (first, last, sessions, body)
    SELECT first, last, $3::bigint[], decode($4, 'hex') FROM ok),
  s AS (INSERT INTO search_segments (tier, first, last) SELECT 0, first, last FROM ok RETURNING id),
  w AS (INSERT INTO search_words (segment, word, body)
    SELECT s.id, decode(t.word, 'hex'), decode(t.body, 'hex') FROM s, unnest($5::text[], $6::text[]) AS t (word, body))
  SELECT first FROM ok`

export const beginStatement = `
  WITH ${ok},
  t AS (INSERT INTO search_segments (tier, first, last)
    SELECT $3::smallint, $4::bigint, $5::bigint FROM ok RETURNING id)
  UPDATE search_segments s SET target = t.id FROM t WHERE s.id = ANY ($2::bigint[]) RETURNING s.id`

/** Without a word up to which the rows are merged, this is the last step of the merge. */
export const mergeStatement = `
  WITH ${ok},
  d AS (DELETE FROM search_words USING ok, search_segments s
    WHERE segment = s.id AND s.target = $2 AND ($3::text IS NULL OR word < decode($3, 'hex'))),
  w AS (INSERT INTO search_words (segment, word, body)
    SELECT t.segment, decode(t.word, 'hex'), decode(t.body, 'hex')
    FROM ok, unnest($4::bigint[], $5::text[], $6::text[]) AS t (segment, word, body)),
  e AS (DELETE FROM search_segments s USING ok WHERE $3::text IS NULL AND (s.target = $2 OR s.id = $2
    AND cardinality($4::bigint[]) = 0 AND NOT EXISTS (SELECT FROM search_words WHERE segment = $2)))
  SELECT version FROM ok`

/**
 * Removes the entries of removed sessions, and notes their numbers in all segments that can contain them. A merge then
 * drops the numbers.
 */
export const forgetStatement = `
  WITH ${ok},
  r AS (DELETE FROM search_removed USING ok WHERE session_key = ANY ($2::bigint[])),
  d AS (DELETE FROM search_numbers n USING ok, unnest($4::bigint[], $6::text[]) AS t (first, body)
    WHERE n.first = t.first AND t.body = ''),
  u AS (UPDATE search_numbers n SET sessions = t.sessions::bigint[], body = decode(t.body, 'hex')
    FROM ok, unnest($4::bigint[], $5::text[], $6::text[]) AS t (first, sessions, body)
    WHERE n.first = t.first AND t.body <> ''),
  s AS (UPDATE search_segments s SET dead = s.dead || t.numbers FROM ok, search_segments o CROSS JOIN LATERAL
      (SELECT array_agg(n) AS numbers FROM unnest($3::bigint[]) AS n WHERE n BETWEEN o.first AND o.last) AS t
    WHERE s.id = o.id AND t.numbers IS NOT NULL)
  SELECT version FROM ok`
