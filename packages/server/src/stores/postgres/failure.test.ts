import { expect, it } from 'vitest'
import { isConnectionLost, mayHaveRun, postgresFailure } from './failure.ts'

const socketError = (code: string) => Object.assign(new Error(code), { code })
const answer = (code: string) => Object.assign(new Error(code), { code, name: 'PostgresError' })

it.each(['EPIPE', 'ECONNRESET', 'CONNECTION_CLOSED', 'ETIMEDOUT'])(
  'a statement may have run if its connection ends with %s',
  (code) => {
    expect(mayHaveRun(socketError(code))).toBe(true)
    expect(isConnectionLost(socketError(code))).toBe(true)
    expect(postgresFailure(socketError(code))).toMatchObject({ code: 'busy' })
  },
)

it.each(['ECONNREFUSED', 'CONNECT_TIMEOUT'])('nothing has run if the connection fails with %s', (code) => {
  expect(mayHaveRun(socketError(code))).toBe(false)
  expect(isConnectionLost(socketError(code))).toBe(true)
  expect(postgresFailure(socketError(code))).toMatchObject({ code: 'busy' })
})

it.each([
  ['57P01', true, 'busy'],
  ['57014', false, 'busy'],
  ['40001', false, 'busy'],
  ['23505', false, 'internal_error'],
  ['28P01', false, 'internal_error'],
])('PostgreSQL reports %s: the statement may have run: %s, and the caller gets %s', (code, ran, kind) => {
  expect(mayHaveRun(answer(code))).toBe(ran)
  expect(postgresFailure(answer(code))).toMatchObject({ code: kind })
})

it.each([
  ['28P01', 'user and the password'],
  ['3D000', 'does not exist'],
  ['42501', 'owner of the database'],
  ['42P07', 'tables of another program'],
  ['53300', 'CONNECTION LIMIT'],
])('the error for %s says what to do', (code, text) => {
  expect(postgresFailure(answer(code))).toMatchObject({
    message: expect.stringContaining(text),
    details: { postgres: code },
  })
})
