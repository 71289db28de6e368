import { z } from 'zod'
import { LedgerEntry, LogCheck, SealKeyInfo } from './ledger.ts'
import { bySession, limit, NoContent, type RouteDefinition, whole } from './route.ts'
import { SessionSummary } from './session-summary.ts'

/** The routes for the ledger and for the seals of logs. */
export const ledgerRoutes = {
  listAudit: {
    method: 'GET',
    path: '/api/audit',
    summary: 'Read the ledger, oldest entry first',
    scope: 'admin',
    limits: 'none',
    query: z.object({
      after: whole.optional().meta({ description: 'Only entries after this number' }),
      subject: z.string().optional().meta({ description: 'Only entries about this id or path' }),
      limit: limit(1000, 100),
    }),
    reply: z.object({
      entries: z.array(LedgerEntry),
      head: LedgerEntry.optional().meta({ description: 'The last entry of the ledger' }),
    }),
  },
  listSealKeys: {
    method: 'GET',
    path: '/api/audit/keys',
    summary: 'List the public keys with which seals and ledger entries are verified',
    scope: 'read',
    limits: 'none',
    reply: z.object({ keys: z.array(SealKeyInfo) }),
  },
  checkLog: {
    method: 'GET',
    path: '/api/sessions/:id/check',
    summary: 'Check the log of a session against its seals',
    scope: 'read',
    limits: 'session',
    params: bySession,
    reply: LogCheck,
  },
  sealLog: {
    method: 'POST',
    path: '/api/sessions/:id/seal',
    summary: 'Seal the events of a session after its last seal, if there are any',
    scope: 'read',
    limits: 'session',
    params: bySession,
    reply: NoContent,
  },
  redactEvent: {
    method: 'POST',
    path: '/api/sessions/:id/events/:seq/redaction',
    summary: 'Remove the content of one event for good; the seals of the log remain valid',
    scope: 'admin',
    limits: 'session',
    params: bySession.extend({ seq: whole }),
    body: z.object({
      reason: z
        .string()
        .trim()
        .min(1)
        .max(500)
        .meta({ description: 'Stays in the log; must not repeat the content' }),
    }),
    reply: SessionSummary,
  },
} as const satisfies Record<string, RouteDefinition>
