package aws

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/orkspace/orkestra/engine/provider"
)

const (
	// pageSize is how many objects one request lists, and deletes.
	pageSize = 1000
	// pagesPerCall bounds what one call deletes; the next call goes on.
	pagesPerCall = 10
	// uploadsPerCall bounds the unfinished uploads that one call ends, a request for each.
	uploadsPerCall = 200
)

// Delete deletes the bucket, and its content first where forceDestroy says so.
func (d bucketDriver) Delete(ctx context.Context, r *provider.Request) (gone bool, err error) {
	b, err := d.open(ctx, r)
	if err != nil {
		return false, err
	}
	is, err := b.find(ctx)
	if err != nil {
		return false, err
	}
	if is != ours && (is != unmarked || !b.lost()) {
		return true, nil
	}
	if gone, err = b.remove(ctx); gone || !provider.IsClass(err, provider.InUse) {
		return gone, err
	}
	if !b.spec.ForceDestroy && r.Noted[notedForce] == "" {
		return false, b.inUse(ctx)
	}
	empty, err := b.empty(ctx)
	if err != nil || !empty {
		return false, err
	}
	if gone, err = b.remove(ctx); provider.IsClass(err, provider.InUse) {
		return false, nil
	}
	return gone, err
}

func (b *bucket) remove(ctx context.Context) (gone bool, err error) {
	_, err = b.client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: b.name()})
	if err = explain(ctx, b.r, err); err != nil && code(err) != "NoSuchBucket" {
		return false, err
	}
	return true, nil
}

// inUse says how much is in the bucket, and what to do.
func (b *bucket) inUse(ctx context.Context) error {
	out, err := b.client.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: b.name(), MaxKeys: aws.Int32(pageSize)})
	if err != nil {
		return explain(ctx, b.r, err)
	}
	count := fmt.Sprintf("%d versions of objects", len(out.Versions)+len(out.DeleteMarkers))
	if aws.ToBool(out.IsTruncated) {
		count = "more than " + count
	}
	return &provider.Error{Class: provider.InUse, Operation: "DeleteBucket", Code: "BucketNotEmpty",
		Message: fmt.Sprintf("the bucket %s holds %s: empty it, or declare forceDestroy: true before the resource is deleted", b.spec.Name, count)}
}

// empty deletes what is in the bucket, page by page from the front: what was listed is gone then.
func (b *bucket) empty(ctx context.Context) (bool, error) {
	for range pagesPerCall {
		out, err := b.client.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: b.name(), MaxKeys: aws.Int32(pageSize)})
		if err != nil {
			return false, explain(ctx, b.r, err)
		}
		var page []types.ObjectIdentifier
		for _, version := range out.Versions {
			page = append(page, types.ObjectIdentifier{Key: version.Key, VersionId: version.VersionId})
		}
		for _, marker := range out.DeleteMarkers {
			page = append(page, types.ObjectIdentifier{Key: marker.Key, VersionId: marker.VersionId})
		}
		if len(page) == 0 {
			return b.endUploads(ctx)
		}
		if err := b.deletePage(ctx, page); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (b *bucket) deletePage(ctx context.Context, page []types.ObjectIdentifier) error {
	out, err := b.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: b.name(), Delete: &types.Delete{Objects: page, Quiet: aws.Bool(true)}})
	if err != nil {
		return explain(ctx, b.r, err)
	}
	if len(out.Errors) == 0 {
		return nil
	}
	first := out.Errors[0]
	reason := aws.ToString(first.Code)
	return &provider.Error{Class: classify(400, reason), Operation: "DeleteObjects", Code: reason,
		Message: b.r.Line(fmt.Sprintf("%d of %d objects of the bucket %s can't be deleted: %s", len(out.Errors), len(page), b.spec.Name, aws.ToString(first.Message)))}
}

func (b *bucket) endUploads(ctx context.Context) (bool, error) {
	out, err := b.client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: b.name(), MaxUploads: aws.Int32(uploadsPerCall)})
	if err != nil {
		return false, explain(ctx, b.r, err)
	}
	for _, upload := range out.Uploads {
		_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: b.name(), Key: upload.Key, UploadId: upload.UploadId})
		if err = explain(ctx, b.r, err); err != nil && code(err) != "NoSuchUpload" {
			return false, err
		}
	}
	return !aws.ToBool(out.IsTruncated), nil
}
