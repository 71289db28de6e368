import { useState } from 'react'
import { pictureAddress } from './call-text.logic.ts'

/** A picture at its natural size, at most as wide as the column. A message replaces a broken picture. */
export function Picture({ mimeType, data, name }: { mimeType: string; data: string; name: string }) {
  const [broken, setBroken] = useState(false)
  const address = pictureAddress({ mimeType, data })
  if (address === undefined || broken) {
    return <p className="text-sm text-soft">This picture cannot be shown ({mimeType})</p>
  }
  return (
    <img
      src={address}
      alt={name}
      onError={() => setBroken(true)}
      className="max-h-96 min-h-8 max-w-full min-w-8 rounded-md border border-line bg-sunk object-contain [image-rendering:auto]"
    />
  )
}
