import type { HandOffPreview } from '@parley/protocol'
import { amount, plural } from '../base/format.logic.ts'

const charactersPerToken = 4

/** The size of a hand-off for people, such as `12k characters, about 3.0k tokens`. */
export function sizeText(characters: number): string {
  return `${amount(characters)} characters, about ${amount(characters / charactersPerToken)} tokens`
}

/** The parts of the session that the hand-off leaves out. */
export function missingTexts(preview: HandOffPreview): string[] {
  const { turns, shortened, leftOut, images, imagesNamed } = preview
  const are = (count: number) => (count === 1 ? 'is' : 'are')
  return [
    ...(shortened > 0 ? [`${shortened} of ${turns} turns ${are(shortened)} shortened.`] : []),
    ...(leftOut > 0 ? [`The first ${plural(leftOut, 'turn')} ${are(leftOut)} left out.`] : []),
    ...(images > 0 ? [`${plural(images, 'image')} ${are(images)} attached.`] : []),
    ...(imagesNamed > 0
      ? [`${plural(imagesNamed, 'image')} ${are(imagesNamed)} mentioned by name, but not attached.`]
      : []),
  ]
}
