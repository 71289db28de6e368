import type { Block, PromptPart } from '@parley/protocol'

type Image = { readonly mimeType: string; readonly data: string; readonly name?: string | undefined }
type ImagePart = Extract<PromptPart, { type: 'image' }>

export type Images = {
  readonly attached: readonly ImagePart[]
  /** The names under which images are attached, by the image in its block. */
  readonly names: ReadonlyMap<object, string>
  /** The number of images that are named but not attached. */
  readonly named: number
}

const maxImages = 3
/** The maximum size of an image, and of all attached images together, in characters of base64. */
const maxBytes = 2 * 1024 * 1024
const types: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/**
 * Finds the images of prompts, and of results of the last turn. The newest ones are attached if the agent accepts
 * images.
 */
export function findImages(blocks: readonly Block[], takesImages: boolean): Images {
  const lastTurn = blocks.at(-1)?.turnId
  const found = blocks.flatMap((block) => imagesOf(block, lastTurn))
  const chosen: Image[] = []
  let bytes = 0
  for (const image of takesImages ? found.toReversed() : []) {
    if (!types.has(image.mimeType) || bytes + image.data.length > maxBytes) continue
    bytes += image.data.length
    if (chosen.push(image) === maxImages) break
  }
  const names = new Map<object, string>()
  const attached = chosen.reverse().map((image, index): ImagePart => {
    const name = `image ${index + 1}`
    names.set(image, name)
    return { type: 'image', mimeType: image.mimeType, data: image.data, name }
  })
  return { attached, names, named: found.length - attached.length }
}

function imagesOf(block: Block, lastTurn: string | undefined): Image[] {
  if (block.type === 'prompt') return block.parts.filter((part) => part.type === 'image')
  if (block.type !== 'tool-call' || block.turnId !== lastTurn) return []
  return block.content.filter((content) => content.type === 'image')
}
