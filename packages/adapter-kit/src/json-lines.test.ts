import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { readJsonLines } from './json-lines.ts'

function reading(options: { longest?: number } = {}) {
  const input = new PassThrough()
  const read: unknown[] = []
  const ended = Promise.withResolvers<void>()
  const on = {
    message: (value: unknown) => void read.push(value),
    garbage: (line: string) => void read.push(`garbage: ${line}`),
    end: () => ended.resolve(),
  }
  const reader = readJsonLines(input, on, options)
  const all = async () => {
    input.end()
    await ended.promise
    return read
  }
  return { input, reader, read, all }
}

it('emits one value per line, for any chunk boundaries', async () => {
  const { input, all } = reading()
  const bytes = Buffer.from('{"a":"ä€😀"}\n[1,2]\n\n"last, without a line break"')
  for (const byte of bytes) input.write(Buffer.from([byte]))
  expect(await all()).toEqual([{ a: 'ä€😀' }, [1, 2], 'last, without a line break'])
})

it('breaks lines at line feeds only', async () => {
  const { input, all } = reading()
  input.write('{"a":"one\u2028two\u0085three"}\r\n{"b":1}\n')
  expect(await all()).toEqual([{ a: 'one\u2028two\u0085three' }, { b: 1 }])
})

it('reports a line that is not JSON and continues with the next line', async () => {
  const { input, all } = reading()
  input.write('Welcome to the program!\n{"a":1}\n{"b":\n{"c":3}\n')
  expect(await all()).toEqual(['garbage: Welcome to the program!', { a: 1 }, 'garbage: {"b":', { c: 3 }])
})

it('drops a line that exceeds the limit', async () => {
  const { input, all } = reading({ longest: 10 })
  for (let count = 0; count < 100; count++) input.write('0123456789')
  input.write('\n{"a":1}\n')
  expect(await all()).toEqual(['garbage: 01234567890123456789', { a: 1 }])
})

it('reads nothing while it is paused', async () => {
  const { input, reader, read, all } = reading()
  reader.pause()
  input.write('1\n')
  input.write('2\n')
  await new Promise((resolve) => setImmediate(resolve))
  expect(read).toEqual([])
  expect(input.readableLength).toBe(4)
  reader.resume()
  expect(await all()).toEqual([1, 2])
})

it('ends once when its input fails', async () => {
  const input = new PassThrough()
  let ends = 0
  readJsonLines(input, { message: () => undefined, garbage: () => undefined, end: () => void ends++ })
  input.destroy(new Error('broken pipe'))
  await new Promise((resolve) => input.once('close', resolve))
  expect(ends).toBe(1)
})
