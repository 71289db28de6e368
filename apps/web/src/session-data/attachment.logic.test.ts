import { describe, expect, it } from 'vitest'
import { overflow, partOf, promptParts, refusal, sizeOf, splitPrompt, toBase64 } from './attachment.logic.ts'

const bytes = (...values: number[]) => new Uint8Array(values)

it('adds the attachments after the text of a prompt, or alone if there is no text', () => {
  const part = partOf({ name: 'a.txt', type: '' }, bytes(65))
  const attached = [{ id: 1, part, size: sizeOf(part) }]
  expect(promptParts(' look \n', attached)).toEqual([{ type: 'text', text: 'look' }, part])
  expect(promptParts(' ', attached)).toEqual([part])
  expect(promptParts('', [])).toEqual([])
})

describe('an attachment', () => {
  it('is an image, a text file or a binary file', () => {
    expect(partOf({ name: 'a.png', type: 'image/png' }, bytes(1, 2))).toMatchObject({
      type: 'image',
      data: 'AQI=',
    })
    const text = new TextEncoder().encode('grüße')
    expect(partOf({ name: 'a.txt', type: '' }, text)).toEqual({ type: 'file', name: 'a.txt', text: 'grüße' })
    expect(partOf({ name: 'a.bin', type: 'x/y' }, bytes(0, 255))).toMatchObject({
      type: 'file',
      data: 'AP8=',
    })
    expect(partOf({ name: 'a.bin', type: '' }, bytes(0xff, 0xfe))).toHaveProperty('data')
  })

  it('is encoded whole at any size', () => {
    const large = new Uint8Array(100_000).map((_, index) => index % 256)
    expect(Buffer.from(toBase64(large), 'base64').equals(Buffer.from(large))).toBe(true)
  })

  it('is refused with a reason', () => {
    const all = { images: true, files: true }
    expect(refusal({ name: 'a', type: 'image/png', size: 10 }, all)).toBeUndefined()
    expect(refusal({ name: 'a', type: '', size: 99_000_000 }, all)).toContain('MB')
    expect(refusal({ name: 'a', type: 'image/png', size: 1 }, { ...all, images: false })).toContain('images')
    expect(refusal({ name: 'a', type: '', size: 1 }, { ...all, files: false })).toContain('@')
  })

  it('is counted by its size on the wire, together with the other attachments', () => {
    const body = 12 * 1024 * 1024
    const large = partOf({ name: 'a.png', type: 'image/png' }, new Uint8Array(8_000_000))
    const attached = { id: 1, part: large, size: sizeOf(large) }
    expect(attached.size).toBeGreaterThan(10_600_000)
    expect(attached.size).toBeLessThan(body)
    expect(overflow('a.png', attached.size, [])).toBeUndefined()
    expect(overflow('b.png', 1_000_000, [attached])).toMatch(/^b\.png does not fit/)
    const escaped = partOf({ name: 'a.txt', type: '' }, new TextEncoder().encode('"ü"'))
    expect(sizeOf(escaped)).toBe(Buffer.byteLength(JSON.stringify(escaped)))
  })
})

describe('a prompt that is edited again', () => {
  it('is split into its text, commands included, and its attachments', () => {
    const image = partOf({ name: 'a.png', type: 'image/png' }, bytes(1))
    const file = partOf({ name: 'a.txt', type: '' }, bytes(65))
    expect(splitPrompt([{ type: 'text', text: 'look' }, image, file])).toEqual({
      text: 'look',
      attached: [image, file],
    })
    expect(splitPrompt([{ type: 'command', name: 'usage', arguments: 'all' }]).text).toBe('/usage all')
    expect(splitPrompt([image]).text).toBe('')
  })
})
